# Five shapes of attention, and a window in three ways.
data moby-dick bible
shapes="mha gqa mqa latent window"

for shape in $shapes; do
    row $shape
    train recipes/shapes/$shape.quick.json
done
models=$(for shape in $shapes; do model_of 11 $shape; done)

row curves
compare "five shapes of attention" $models
picture 11-attention-shapes.svg "$here/curves.svg"

row decoding  # by the clock: only a machine that does nothing else can tell
compare "decoding" $models

full_row shapes-full
compare "five shapes of attention, full" recipes/shapes/*.full.json

row window-ways
benchmark window_ways
picture 11-window-time.svg "$here/window-time.svg"
picture 11-window-memory.svg "$here/window-memory.svg"
