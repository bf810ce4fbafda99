# Translation with Bahdanau's attention.
data pairs

translation() {  # RECIPE [KEY=VALUE…]
    train "$@"
    measure greedy eval data/pairs/test.tsv
    measure beams eval data/pairs/test.tsv --beams 4
}

row bahdanau
translation recipes/bahdanau.quick.json
run alignment translate "$model" "Edit the selected person" --alignment "$here/alignment.svg" --json
picture 05-bahdanau-alignment.svg "$here/alignment.svg"

row one-direction
translation recipes/bahdanau.quick.json model.bidirectional=false

for rate in 0.002 0.004; do
    row rate-$rate
    train recipes/bahdanau.quick.json optimizer.learning_rate=$rate
done

row curves
compare "translation with attention" $(model_of 05 bahdanau)
picture 05-bahdanau.svg "$here/curves.svg"

full_row bahdanau-full
translation recipes/bahdanau.full.json
