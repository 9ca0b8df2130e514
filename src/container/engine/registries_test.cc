#include "src/container/engine/registries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

TEST(RegistriesTest, RefusesWhatEnginesWouldNotTake) {
  EXPECT_OK(CheckRegistries({{"reg.example:5000", "10.1.2.3"}, {"https://m.example/v2"}}, false));
  for (const char* bad : {"http://reg.example", "", "a b", "a\"b", "../etc", "a\\b"}) {
    EXPECT_THAT(CheckRegistries({{bad}, {}}, false),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--insecure-registry")))
        << bad;
  }
  for (const char* bad :
       {"m.example", "ftp://m.example", "https://", "https://m\"x", "https://m x"}) {
    EXPECT_THAT(CheckRegistries({{}, {bad}}, false),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--registry-mirror")))
        << bad;
  }
}

TEST(RegistriesTest, TakesNetworksForDockerOnly) {
  EXPECT_OK(CheckRegistries({{"10.0.0.0/8"}, {}}, true));
  EXPECT_THAT(CheckRegistries({{"10.0.0.0/8"}, {}}, false), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckRegistries({{"10.0.0.0/x"}, {}}, true), StatusIs(StatusCode::kInvalidArgument));
}

TEST(RegistriesTest, MakesAFolderPerRegistryForContainerd) {
  const auto files =
      ContainerdHosts({{"reg.example:5000"}, {"https://m.example"}}, "/etc/containerd/certs.d");

  EXPECT_THAT(
      files,
      ElementsAre(Field(&TextFile::path, "/etc/containerd/certs.d/docker.io/hosts.toml"),
                  Field(&TextFile::path, "/etc/containerd/certs.d/reg.example:5000/hosts.toml")));
  EXPECT_THAT(files[0].text, HasSubstr("[host.\"https://m.example\"]"));
  EXPECT_THAT(files[1].text, HasSubstr("skip_verify = true"));
}

TEST(RegistriesTest, MakesOneDropInForCrioAndPodman) {
  const TextFile file = ContainersRegistries({{"reg.example:5000"}, {"http://m.example"}});

  EXPECT_EQ(file.path, "/etc/containers/registries.conf.d/99-kgpu.conf");
  EXPECT_THAT(file.text,
              HasSubstr("[[registry]]\nlocation = \"reg.example:5000\"\ninsecure = true\n"));
  EXPECT_THAT(file.text, HasSubstr("[[registry]]\nlocation = \"docker.io\"\n\n"
                                   "[[registry.mirror]]\nlocation = \"m.example\"\n"
                                   "insecure = true\n"));
}

}  // namespace
}  // namespace kgpu::engine
