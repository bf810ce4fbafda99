# What `cmake --install` puts where: the program, the headers, one library (or each, as the components "static" and "shared"), and
# how CMake and pkg-config find them.
include(CMakePackageConfigHelpers)
set(CMAKE_FILES ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

if(TARGET tessera)
  install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
install(DIRECTORY src/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
        FILES_MATCHING PATTERN "*.h"
        REGEX "/tessera/(cli|kernels/cpu|kernels/cuda)$" EXCLUDE)

file(RELATIVE_PATH RELATIVE_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
# What pkg-config --static adds.
set(PRIVATE_LIBRARIES "-ldnnl -lhwy -lpcre2-8 -lutf8proc -lpng -ljpeg -lwebp -lgif -lfreetype -lfmt")
foreach(name ${OpenMP_CXX_LIB_NAMES})
  string(APPEND PRIVATE_LIBRARIES " -l${name}")
endforeach()
if(TESSERA_CUDA)
  string(APPEND PRIVATE_LIBRARIES " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lcublasLt -ldl -lrt")
endif()
set(LINK_static "-Wl,--whole-archive,\${libdir}/libtessera.a,--no-whole-archive")
set(LINK_shared "-L\${libdir} -ltessera")

foreach(kind static shared)
  set(unless_asked EXCLUDE_FROM_ALL)
  if((kind STREQUAL shared AND BUILD_SHARED_LIBS) OR (kind STREQUAL static AND NOT BUILD_SHARED_LIBS))
    set(unless_asked "")
    set_target_properties(tessera_${kind} PROPERTIES EXCLUDE_FROM_ALL OFF)
  endif()
  install(TARGETS tessera_${kind} EXPORT ${kind}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${kind} ${unless_asked}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${kind} ${unless_asked})
  install(EXPORT ${kind} NAMESPACE tessera:: FILE tessera-${kind}.cmake DESTINATION ${CMAKE_FILES} COMPONENT ${kind} ${unless_asked})
  set(LINK ${LINK_${kind}})
  configure_file(cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/${kind}/tessera.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${kind}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${kind}
          ${unless_asked})
endforeach()

configure_package_config_file(cmake/tessera-config.cmake.in ${PROJECT_BINARY_DIR}/tessera-config.cmake
                              INSTALL_DESTINATION ${CMAKE_FILES})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake cmake/libraries.cmake
        DESTINATION ${CMAKE_FILES} COMPONENT headers)
