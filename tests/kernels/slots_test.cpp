// The op × device table. Every op must have a CPU kernel; CUDA is filled in over time.
#include "tessera/kernels/slot.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
namespace tessera {
namespace {

TEST(Slots, EveryOpHasACpuKernel) {
    std::printf("%-32s %-4s %s\n", "op", "cpu", "cuda");
    for (const SlotBase* slot : SlotBase::all()) {
        const bool on_cpu = slot->filled(DeviceKind::CPU), on_cuda = slot->filled(DeviceKind::CUDA);
        std::printf("%-32s %-4s %s\n", slot->name(), on_cpu ? "yes" : "-", on_cuda ? "yes" : "-");
        EXPECT_TRUE(on_cpu) << slot->name() << ": no CPU kernel";
    }
    EXPECT_FALSE(SlotBase::all().empty());
}

TEST(Slots, NamesAreUnique) {
    std::set<std::string> names;
    for (const SlotBase* slot : SlotBase::all()) EXPECT_TRUE(names.insert(slot->name()).second) << slot->name();
}

TEST(Slots, AnEmptySlotSaysWhichKernelIsMissing) {
    static Slot<void(const View&)> nothing{"nothing_here"};  // made when this test runs, after the table's
    try {
        nothing.on(cuda);
        FAIL() << "an empty slot was called";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "nothing_here: no CUDA kernel");
    }
}

void negate(double& x) { x = -x; }

// As where a program and a shared library each have the slot of one header, because neither exports it.
TEST(Slots, CopiesOfASlotShareTheirKernels) {
    static Slot<void(double&)> ours{"a_copied_slot"}, theirs{"a_copied_slot"};
    const RegisterKernel registered{ours, DeviceKind::CPU, negate};
    double x = 2;
    theirs.on(cpu)(x);
    EXPECT_EQ(x, -2);
}

TEST(Slots, ANameHasOneSignature) {
    static Slot<void(float)> first{"a_taken_name"};
    try {
        const Slot<void(double)> second{"a_taken_name"};
        FAIL() << "two signatures under one name";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "a_taken_name: there is an op of this name with another signature");
    }
}

}  // namespace
}  // namespace tessera
