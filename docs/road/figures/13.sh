# Six styles of one size.
data moby-dick bible
styles="palm llama falcon mistral gemma deepseek"

for style in $styles; do
    row $style
    train recipes/styles/$style.quick.json
done
models=$(for style in $styles; do model_of 13 $style; done)

row curves
compare "six styles of one size" $models
picture 13-styles.svg "$here/curves.svg"

row decoding  # by the clock: only a machine that does nothing else can tell
compare "decoding" $models

full_row styles-full
compare "six styles of one size, full" recipes/styles/*.full.json
