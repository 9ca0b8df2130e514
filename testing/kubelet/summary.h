// Messages of the device plugin API in a few words, for the call log.
#pragma once

#include <string>
#include <vector>

#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

std::string Summary(const PluginOptions& options);
std::string Summary(const std::vector<Device>& devices);
std::string Summary(const std::vector<std::string>& ids);
std::string Summary(const PreferredRequest& request);
std::string Summary(const ContainerOptions& options);

}  // namespace kgpu::kubelet
