// Valid forms of names, label keys and values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::apiserver {

// Each returns why the text is invalid, or nothing.
std::optional<std::string> SubdomainProblem(std::string_view text);  // object names: RFC 1123
std::optional<std::string> DnsLabelProblem(std::string_view text);   // namespaces
std::optional<std::string> LabelKeyProblem(std::string_view text);   // "[prefix/]name"
std::optional<std::string> LabelValueProblem(std::string_view text);
std::optional<std::string> DriverNameProblem(std::string_view text);     // of DRA drivers
std::optional<std::string> QualifiedNameProblem(std::string_view text);  // "[domain/]id"
std::optional<std::string> RoleNameProblem(std::string_view text);       // a path segment

}  // namespace kgpu::apiserver
