# Span corruption over e-mails, then their subjects: from scratch, and from that model.
data spam
test=data/spam/validation-subjects.tsv

row t5
train recipes/t5.quick.json

row curves
compare "span corruption" $(model_of 08 t5)
picture 08-t5.svg "$here/curves.svg"

full_row t5-full
train recipes/t5.full.json

for pairs in 200 1000; do
    row scratch-$pairs
    train recipes/t5-subject.quick.json tokenizer=$(model_of 08 t5) data.limit=$pairs
    measure eval eval $test
    row tuned-$pairs
    train recipes/t5-subject.quick.json weights=$(model_of 08 t5) data.limit=$pairs
    measure eval eval $test
    full_row scratch-$pairs-full
    train recipes/t5-subject.full.json tokenizer=$(model_of 08 t5-full) data.limit=$pairs
    measure eval eval $test
    full_row tuned-$pairs-full
    train recipes/t5-subject.full.json weights=$(model_of 08 t5-full) data.limit=$pairs
    measure eval eval $test
done
