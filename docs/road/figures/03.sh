# A Transformer of Moby Dick, beside the models of pages 1 and 2.
data moby-dick
rows_of 01 'add-k-[35]' 'kneser-ney-[356]'
rows_of 02 elman gru lstm '*-full'

text=data/moby-dick/validation.txt

row transformer
train recipes/transformer.quick.json
measure score score $text
measure eval eval $text

full_row transformer-full
train recipes/transformer.full.json
measure score score $text

row curves
compare "recurrent models and a Transformer" $(model_of 02 elman) $(model_of 02 gru) $(model_of 02 lstm) $(model_of 03 transformer)
picture 03-transformer-lm.svg "$here/curves.svg"
