// The engines on this machine, and the newer ones that fetch_suites.sh unpacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kgpu::engines {

// Debian 12's own, or unpacked from a newer suite.
enum class Origin : uint8_t { kMachine, kTrixie, kForky };

// Names tests: "Machine", "Trixie", "Forky".
std::string ToString(Origin origin);

// The path of a program such as "containerd"; empty if it does not exist.
std::string FindProgram(const std::string& name, Origin origin = Origin::kMachine);

// Why an engine of these programs cannot run here, with the fix; empty if it can.
std::string WhyNot(const std::vector<std::string>& programs, Origin origin = Origin::kMachine);

}  // namespace kgpu::engines
