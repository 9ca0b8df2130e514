# gRPC without TLS (unix sockets only), linked static where the programs are, and the code that protoc
# makes of proto/.
pkg_check_modules(GRPC REQUIRED grpc++_unsecure)
find_program(KGPU_PROTOC protoc REQUIRED)
find_program(KGPU_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

add_library(kgpu_grpc INTERFACE)
add_library(kgpu::grpc ALIAS kgpu_grpc)
target_compile_definitions(kgpu_grpc INTERFACE GRPC_USE_PROTO_LITE)
if(KGPU_SHARED_GRPC)
  # ThreadSanitizer can leave out shared libraries that are not instrumented, archives it cannot.
  target_link_libraries(kgpu_grpc INTERFACE
    -lgrpc++_unsecure -lgrpc_unsecure -lgpr -lprotobuf-lite Threads::Threads)
else()
  # Debian's .pc file forgets the last five; the list names some libraries dozens of times.
  set(kgpu_grpc_archives ${GRPC_STATIC_LIBRARIES} address_sorting re2 upb cares z protobuf-lite)
  list(REMOVE_DUPLICATES kgpu_grpc_archives)
  list(FILTER kgpu_grpc_archives EXCLUDE REGEX "^(m|rt|pthread|dl|atomic|protobuf)$")
  list(TRANSFORM kgpu_grpc_archives REPLACE "(.+)" "-l:lib\\1.a")
  # One word for the linker: CMake would tear a group of several apart where two meet.
  list(JOIN kgpu_grpc_archives "," kgpu_grpc_group)
  target_link_libraries(kgpu_grpc INTERFACE
    -Wl,--start-group,${kgpu_grpc_group},--end-group Threads::Threads)
endif()

# kgpu_proto(name FILE): library kgpu::proto_<name> of proto/FILE.proto; include "FILE.grpc.pb.h".
function(kgpu_proto name file)
  set(out ${CMAKE_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  set(made ${out}/${file}.pb.cc ${out}/${file}.grpc.pb.cc)
  add_custom_command(
    OUTPUT ${made} ${out}/${file}.pb.h ${out}/${file}.grpc.pb.h
    COMMAND ${KGPU_PROTOC} -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${out} --grpc_out=${out}
      --plugin=protoc-gen-grpc=${KGPU_GRPC_PLUGIN} ${file}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${file}.proto
    COMMENT "Generating ${file}")
  set_property(DIRECTORY APPEND PROPERTY kgpu_generated ${made})
  add_library(kgpu_proto_${name} STATIC ${made})
  add_library(kgpu::proto_${name} ALIAS kgpu_proto_${name})
  target_include_directories(kgpu_proto_${name} SYSTEM PUBLIC ${out})
  target_link_libraries(kgpu_proto_${name} PUBLIC kgpu::grpc)
endfunction()

kgpu_proto(cri_pod cri_pod_v1)
kgpu_proto(cri_status cri_status_v1)
kgpu_proto(deviceplugin deviceplugin_v1beta1)
kgpu_proto(dra_health dra_health_v1alpha1)
kgpu_proto(dra_v1 dra_v1)
kgpu_proto(dra_v1beta1 dra_v1beta1)
kgpu_proto(fx_gateway fx_gateway)
kgpu_proto(pluginregistration pluginregistration_v1)
kgpu_proto(podresources podresources_v1)
kgpu_proto(podresources_v1alpha1 podresources_v1alpha1)

# The generated code alone: what clang-tidy needs beside the sources.
get_property(kgpu_generated DIRECTORY PROPERTY kgpu_generated)
add_custom_target(generated DEPENDS ${kgpu_generated})
