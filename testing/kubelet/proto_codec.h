// plugin_api.h ↔ the generated messages. Only for the files that use gRPC.
#pragma once

#include <deviceplugin_v1beta1.pb.h>

#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

std::vector<Device> FromProto(const v1beta1::ListAndWatchResponse& message);
v1beta1::ListAndWatchResponse ToProto(const std::vector<Device>& devices);
ContainerOptions FromProto(const v1beta1::ContainerAllocateResponse& message);
v1beta1::ContainerAllocateResponse ToProto(const ContainerOptions& options);

}  // namespace kgpu::kubelet
