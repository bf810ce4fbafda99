# What our own code is compiled with, as the target tessera_flags. Nothing of it reaches those who link the library.
add_library(tessera_flags INTERFACE)
target_compile_features(tessera_flags INTERFACE cxx_std_20)
target_include_directories(tessera_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
if(TESSERA_WARNINGS_AS_ERRORS)
  target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps and overruns in std::string where there are none; the sanitizers look for real ones.
  target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overread
                                                  -Wno-stringop-overflow>)
endif()
# The static and the shared library are made of the same objects. Calls within the engine stay direct: nobody replaces its functions.
target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fPIC -fno-semantic-interposition
                                                -fvisibility-inlines-hidden>)
target_link_libraries(tessera_flags INTERFACE OpenMP::OpenMP_CXX)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Every x86 server of the last decade. Hot kernels pick wider vectors at run time (Highway, oneDNN).
  target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3 -maes -mpclmul>)
endif()
if(TESSERA_SANITIZE)
  # Instrumented code misleads g++'s search for uninitialised values, in the standard library's own headers too.
  target_compile_options(tessera_flags INTERFACE ${SANITIZERS} -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  # One width of vectors is enough to find errors in; compiling all takes minutes.
  target_compile_definitions(tessera_flags INTERFACE HWY_COMPILE_ONLY_STATIC)
  target_link_options(tessera_flags INTERFACE -fsanitize=address,undefined)
endif()
