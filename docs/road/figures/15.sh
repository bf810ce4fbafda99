# A vision-language model of scenes. The full setting is models/scenes-tiny, whose card says how it was trained.
data emoji

row scenes
train recipes/scenes.quick.json
measure scenes "scenes score" recipes/scenes/quick-validation.scenes.json

row curves
compare "captions of scenes" $(model_of 15 scenes)
picture 15-paligemma.svg "$here/curves.svg"

for set in validation held-out; do
    row tiny-$set
    run facts inspect models/scenes-tiny --json
    run scenes scenes score models/scenes-tiny recipes/scenes/$set.scenes.json --count 2000 --json
done
