# A deep network of sigmoids for MNIST: what it begins with, and how many labels it has.
data mnist fashion-mnist
test=data/mnist/t10k-images-idx3-ubyte rates="0.002 0.004 0.008 0.016 0.032 0.064"

row autoencoder
train recipes/mnist-autoencoder.quick.json
row fashion
train_best "$rates" recipes/mnist-mlp.quick.json data.train=data/fashion-mnist/train-images-idx3-ubyte

for labels in 1000 all; do
    settings=(data.limit=${labels/all/0}) steps=()
    if [ $labels = 1000 ]; then settings+=(steps=400) steps=(steps=1000); fi
    row layers-$labels
    train recipes/mnist-supervised.quick.json data.limit=${labels/all/0} "${steps[@]}"
    for start in none fashion supervised autoencoder; do
        case $start in
            none) weights=() ;;
            supervised) weights=(weights=$(model_of 09 layers-$labels)) ;;
            *) weights=(weights=$(model_of 09 $start)) ;;
        esac
        row $start-$labels
        train_best "$rates" recipes/mnist-mlp.quick.json "${settings[@]}" "${weights[@]}"
        measure eval eval $test
    done
done

row curves
compare "fine-tuned with 1,000 labels" $(for start in none fashion supervised autoencoder; do model_of 09 $start-1000; done)
picture 09-pretraining.svg "$here/curves.svg"

full_row autoencoder-full
train recipes/mnist-autoencoder.full.json
full_row layers-full
train recipes/mnist-supervised.full.json
for start in none supervised autoencoder; do
    case $start in
        none) weights=() ;;
        supervised) weights=(weights=$(model_of 09 layers-full)) ;;
        autoencoder) weights=(weights=$(model_of 09 autoencoder-full)) ;;
    esac
    full_row $start-all-full
    train recipes/mnist-mlp.full.json optimizer.learning_rate=0.008 "${weights[@]}"
    measure eval eval $test
done
