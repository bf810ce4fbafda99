# Six styles of one size.
data moby-dick bible

row styles
compare recipes/styles/*.quick.json
picture 13-styles.svg "$here/curves.svg"

full_row styles-full
compare recipes/styles/*.full.json
