// A host in a temporary folder, and the features that one source reads from it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/host/features/read.h"
#include "testing/host_tree.h"
#include "testing/temp_dir.h"

namespace kgpu::features {

class TestHost {
 public:
  explicit TestHost(std::string_view tree) { UnpackHost(tree, dir_); }

  // Answers of the CPU, in the format of `cpuid -1 -r`; if empty, the CPU has no such instruction.
  void SetCpuid(std::string text) { cpuid_ = std::move(text); }
  const TempDir& dir() const { return dir_; }

  Reading Read(const std::string& source, FeatureOptions options = {}) const {
    options.feature_sources = {source};
    auto host = sys::Root::Open(dir_.path());
    auto cpuid = ParseRecordedCpuid(cpuid_);
    if (!host.ok() || !cpuid.ok()) {
      ADD_FAILURE() << host.status() << cpuid.status();
      return {};
    }
    return ReadFeatures(*host, options, **cpuid);
  }

 private:
  TempDir dir_;
  std::string cpuid_;
};

}  // namespace kgpu::features
