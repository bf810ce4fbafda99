# The engine as a library for others: tessera::static and tessera::shared of the same objects, and tessera::tessera, which is the
# one that BUILD_SHARED_LIBS asks for.
set(ENGINE_OBJECTS $<TARGET_OBJECTS:tessera_engine>)
if(TESSERA_CUDA)
  list(APPEND ENGINE_OBJECTS $<TARGET_OBJECTS:tessera_cuda>)
endif()
add_library(tessera_static STATIC EXCLUDE_FROM_ALL ${ENGINE_OBJECTS})
add_library(tessera_shared SHARED EXCLUDE_FROM_ALL ${ENGINE_OBJECTS})
foreach(kind static shared)
  add_library(tessera::${kind} ALIAS tessera_${kind})
  target_include_directories(tessera_${kind} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(tessera_${kind} INTERFACE cxx_std_20)
  target_link_libraries(tessera_${kind} PRIVATE ${ENGINE_LIBRARIES})
  set_target_properties(tessera_${kind} PROPERTIES OUTPUT_NAME tessera EXPORT_NAME ${kind} LINKER_LANGUAGE CXX)
endforeach()
set_target_properties(tessera_shared PROPERTIES VERSION ${PROJECT_VERSION}
                                                SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(TESSERA_SANITIZE)
  foreach(kind static shared)
    target_link_options(tessera_${kind} PUBLIC -fsanitize=address,undefined)
  endforeach()
endif()
if(UNIX AND NOT APPLE)
  # Only names of namespace tessera leave the shared library, none of what it was put together from.
  target_link_options(tessera_shared PRIVATE LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map)
  set_target_properties(tessera_shared PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
endif()

# Ops, architectures, objectives and tokenizers register themselves, so a static library is linked whole.
add_library(tessera_library INTERFACE)
add_library(tessera::tessera ALIAS tessera_library)
if(BUILD_SHARED_LIBS)
  target_link_libraries(tessera_library INTERFACE tessera_shared)
else()
  target_link_libraries(tessera_library INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,tessera_static>)
endif()
