// How a training run ended or went on, in words.
#pragma once

#include <string>
#include <vector>

#include "tessera/training/run/session.h"

namespace tessera::cli {

constexpr const char* resume_or_overwrite = "--resume goes on with an earlier run, --overwrite replaces it: not both";

// ", accuracy 97.00 % (97 of 100)"; empty where no answer is right or wrong.
std::string accuracy_of(const training::Accuracy& answers);

// Of a run that was stopped: says so ("stopped", "NAME stopped"), where its checkpoint is and how to go on. The status
// to exit with.
int end_of_stopped(const training::SessionResult& result, const std::string& what, const std::string& resume_command);

// "12 steps, training loss 1.2345 (mean of the last 12), validation loss 1.3000"
std::string outcome(const training::SessionResult& result);
// Where a run that was asked to go on does so, and with what.
std::string resumption(const std::string& folder, std::int64_t step,
                       const std::vector<training::ChangedSetting>& changes);

}  // namespace tessera::cli
