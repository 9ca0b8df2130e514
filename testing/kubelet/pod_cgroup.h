// The cgroups of pods' containers, with the names of a kubelet with the cgroupfs driver and
// containerd.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::kubelet {

// A container runtime's name for the container: 64 hexadecimal digits, the same for the same
// `id`.
std::string RuntimeId(std::string_view id);

// "/kgpu-stub/kubepods/besteffort/pod<uid>/<RuntimeId>".
std::string CgroupOf(std::string_view pod_uid, std::string_view id);

// Removes the pod's own cgroup after its last container: runc only removes those of containers.
void RemovePodCgroup(std::string_view pod_uid);

}  // namespace kgpu::kubelet
