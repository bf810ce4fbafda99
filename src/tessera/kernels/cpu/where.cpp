#include "tessera/kernels/where.h"

#include "tessera/kernels/cpu/row_loop.h"

namespace tessera::kernels::cpu {
namespace {

template <class T>
void where_run(const Run<4>& run) {
    const auto* condition = reinterpret_cast<const bool*>(run.data[0]);
    const auto* a = reinterpret_cast<const T*>(run.data[1]);
    const auto* b = reinterpret_cast<const T*>(run.data[2]);
    auto* out = reinterpret_cast<T*>(run.data[3]);
    const auto [c_stride, a_stride, b_stride, out_stride] = run.strides;
    if (c_stride == 1 && a_stride == 1 && b_stride == 1 && out_stride == 1) {
        for (std::int64_t i = 0; i < run.length; ++i) out[i] = condition[i] ? a[i] : b[i];
        return;
    }
    for (std::int64_t i = 0; i < run.length; ++i)
        out[i * out_stride] = condition[i * c_stride] ? a[i * a_stride] : b[i * b_stride];
}

void where_on_cpu(const View& condition, const View& a, const View& b, const View& out) {
    const RowLoop<4> loop({&condition, &a, &b, &out});
    visit_plain(out.dtype, "where", [&]<class T>(Type<T>) { loop.parallel(where_run<T>); });
}

const RegisterKernel register_where{kernels::where, DeviceKind::CPU, where_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
