# Puts every configs/NAME.json into the program, so that presets are found wherever it is installed.
file(GLOB PRESET_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PRESET_FILES})
set(PRESET_ENTRIES "")
foreach(file ${PRESET_FILES})
  get_filename_component(preset ${file} NAME_WLE)
  file(READ ${file} text)
  string(APPEND PRESET_ENTRIES "    {\"${preset}\", R\"json(${text})json\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/presets_data.cpp CONTENT [[
// Generated from configs/ by cmake/presets.cmake.
#include "tessera/models/presets.h"

namespace tessera::models {
namespace {
constexpr Preset list[] = {
@PRESET_ENTRIES@};
}  // namespace
std::span<const Preset> presets() { return list; }
}  // namespace tessera::models
]] @ONLY)
