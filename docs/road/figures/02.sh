# Recurrent language models of Moby Dick.
data moby-dick
text=data/moby-dick/validation.txt

for cell in elman gru lstm; do
    row $cell
    train recipes/rnn-$cell.quick.json
    measure score score $text
    measure eval eval $text
    full_row $cell-full
    train recipes/rnn-$cell.full.json
    measure score score $text
done

for spread in 0.02 0.12; do
    row gru-200-steps-from-$spread
    train recipes/rnn-gru.quick.json steps=200 model.initializer_range=$spread
done

row curves
compare "recurrent language models" $(model_of 02 elman) $(model_of 02 gru) $(model_of 02 lstm)
picture 02-rnn.svg "$here/curves.svg"
