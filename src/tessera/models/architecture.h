// The registration of a family, at the end of its file:
//
//     static const RegisterArchitecture register_x({"model_type", "Authors, Title, year", x});
//
// so that a new family is one file and no list of families is kept anywhere.
#pragma once

#include <memory>
#include <vector>

#include "tessera/models/model.h"

namespace tessera::models {

struct Vision;  // models/vision.h

struct Architecture {
    const char* model_type;  // of config.json
    const char* paper;
    std::unique_ptr<Model> (*build)(const Config& config);  // a model without memory
    const Vision* vision = nullptr;                         // where it looks at images
};

class RegisterArchitecture {
   public:
    explicit RegisterArchitecture(const Architecture& architecture);
    static std::vector<const Architecture*> all();

   private:
    Architecture architecture_;
};

}  // namespace tessera::models
