# Vision transformers.
data mnist fashion-mnist cifar10

for set in mnist fashion cifar10; do
    test=data/$set/t10k-images-idx3-ubyte
    [ $set != fashion ] || test=data/fashion-mnist/t10k-images-idx3-ubyte
    [ $set != cifar10 ] || test=data/cifar10/test_batch.bin
    row $set
    train recipes/$set-vit.quick.json
    measure eval eval $test
    full_row $set-full
    train recipes/$set-vit.full.json
    measure eval eval $test
done

row curves
compare "a vision transformer on CIFAR-10" $(model_of 10 cifar10)
picture 10-vit.svg "$here/curves.svg"
