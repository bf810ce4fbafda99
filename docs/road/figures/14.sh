# Pictures and their names.
data emoji

named() {  # RECIPE
    train "$@"
    measure fluent eval data/emoji/fluent.jsonl
    measure twitter eval data/emoji/twitter.jsonl
}

row emoji
named recipes/emoji.quick.json

row curves
compare "pictures and names" $(model_of 14 emoji)
picture 14-siglip.svg "$here/curves.svg"

full_row emoji-full
named recipes/emoji.full.json
