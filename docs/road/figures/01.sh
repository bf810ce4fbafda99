# Counted models of Moby Dick.
data moby-dick
text=data/moby-dick/validation.txt

counted() {  # RECIPE [KEY=VALUE…]; nothing is evaluated meanwhile, so that the time is that of counting
    train "$@" evaluate.every=0
    measure score score $text
    measure eval eval $text
}

for order in 1 2 3 4 5 6; do
    row add-k-$order
    counted recipes/ngram-add-k.quick.json model.order=$order
    row kneser-ney-$order
    counted recipes/ngram.quick.json model.order=$order
done
for k in 1 0.1 0.001; do
    row add-k-5-with-$k
    counted recipes/ngram-add-k.quick.json model.order=5 model.k=$k
done

row ngram
train recipes/ngram.quick.json
picture 01-ngram.svg "$model/loss.svg"

full_row kneser-ney-8
counted recipes/ngram.full.json
