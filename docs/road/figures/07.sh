# A masked language model of e-mails, then a classifier of them: from scratch, and from that model.
data spam
test=data/spam/validation.tsv rates="0.0002 0.0005 0.001 0.002 0.004" full_rates="0.00005 0.0001 0.0002 0.0005 0.001"
bert=$(model_of 07 bert) bert_full=$(model_of 07 bert-full)

row bert
train recipes/bert.quick.json

row curves
compare "a masked language model" $(model_of 07 bert)
picture 07-bert.svg "$here/curves.svg"

for labels in 50 200 1000 all; do
    settings=(data.limit=${labels/all/0})
    [ $labels != all ] || settings+=(steps=600)
    row scratch-$labels
    train_best "$rates" recipes/bert-spam.quick.json tokenizer=$bert "${settings[@]}"
    measure eval eval $test
    row tuned-$labels
    train_best "$rates" recipes/bert-spam.quick.json weights=$bert "${settings[@]}"
    measure eval eval $test
done

full_row bert-full
train recipes/bert.full.json
full_row scratch-200-full
train_best "$full_rates" recipes/bert-spam.full.json tokenizer=$bert_full
measure eval eval $test
full_row tuned-200-full
train_best "$full_rates" recipes/bert-spam.full.json weights=$bert_full
measure eval eval $test
