// Removes secrets from what support is sent.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace kgpu::collect {

// Takes tokens, passwords, private keys and what is named as a secret out of `text`, whatever its
// format is, and counts them in `removed` by kind. Too much goes rather than too little: the value
// of `tokenFile`, too.
void RemoveSecrets(std::string& text, std::map<std::string, size_t>& removed);

// Whether a file has only secrets, by its name: "etc/kgpu/tokens".
bool IsSecretFile(std::string_view path);

}  // namespace kgpu::collect
