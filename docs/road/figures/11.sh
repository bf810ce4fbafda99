# Five shapes of attention, and a window in three ways.
data moby-dick bible

row shapes
compare recipes/shapes/*.quick.json
picture 11-attention-shapes.svg "$here/curves.svg"

full_row shapes-full
compare recipes/shapes/*.full.json

row window-ways
benchmark window_ways
picture 11-window-time.svg "$here/window-time.svg"
picture 11-window-memory.svg "$here/window-memory.svg"
