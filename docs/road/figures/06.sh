# The original Transformer on the pairs of page 5.
data pairs
rows_of 05 bahdanau one-direction bahdanau-full

translation() {  # RECIPE [KEY=VALUE…]
    train "$@"
    measure greedy eval data/pairs/test.tsv
    measure beams eval data/pairs/test.tsv --beams 4
}

row transformer
translation recipes/transformer-translation.quick.json
run alignment translate "$model" "Create a new account for this invoice" --alignment "$here/alignment.svg" --json
picture 06-transformer-alignment.svg "$here/alignment.svg"

for rate in 0.002 0.005; do
    row rate-$rate
    train recipes/transformer-translation.quick.json optimizer.learning_rate=$rate
done

row curves
compare "the original Transformer" $(model_of 06 transformer)
picture 06-transformer-translation.svg "$here/curves.svg"

full_row transformer-full
translation recipes/transformer-translation.full.json
