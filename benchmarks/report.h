// Figures as text and as JSON, and the recorded pages.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/support.h"

namespace tessera::benchmarks {

void set_quick(bool quick);
void set_takes_best(bool takes_best);
void set_json(bool json);  // figures are not printed as they come, but all together by print_json
void set_results_folder(const std::string& folder);

const std::vector<Benchmark>& benchmarks();  // in their order

void print_json();
// results/DATE-MACHINE.json and .md; says where.
void write_record(const std::string& date);

}  // namespace tessera::benchmarks
