#include "src/diagnose/image/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "src/diagnose/image/test_tar.h"
#include "src/platform/compress/test_pack.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::image {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kConfig =
    R"({"architecture":"amd64","config":{"Env":["CUDA_VERSION=12.4.1"],"Labels":{"a":"b"}}})";

std::string Layer() {
  return TarFile("usr/lib/libcudart.so.12.4.127", "") + TarEnd();
}

// What docker save writes.
std::string DockerArchive(const std::string& manifest) {
  return TarFile("c.json", kConfig) + TarFile("l/layer.tar", Layer()) +
         TarFile("manifest.json", manifest) + TarEnd();
}

class ArchiveTest : public ::testing::Test {
 protected:
  StatusOr<ImageFacts> Read(const std::string& path, const PickOptions& options = {}) {
    auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    return ReadArchive(*root, path, options);
  }
  // A blob of an image layout; its digest is that of nothing.
  std::string Blob(const std::string& text) {
    const std::string hex = fmt::format("{:064x}", ++blobs_);
    dir_.WriteFile("layout/blobs/sha256/" + hex, text);
    return "sha256:" + hex;
  }
  std::string Manifest(const std::string& config) {
    return Blob(fmt::format(R"({{"config":{{"digest":"{}"}},"layers":[{{"digest":"{}"}}]}})",
                            Blob(config), Blob(compress::Gzip(Layer()))));
  }

  TempDir dir_;
  int blobs_ = 0;
};

TEST_F(ArchiveTest, DockersArchiveIsReadWithItsLayers) {
  dir_.WriteFile(
      "a.tar",
      DockerArchive(R"([{"Config":"c.json","RepoTags":["x:1"],"Layers":["l/layer.tar"]}])"));
  const auto image = Read("a.tar");
  ASSERT_OK(image);
  EXPECT_EQ(image->name, "x:1");
  EXPECT_EQ(image->architecture, "amd64");
  EXPECT_THAT(image->env, ElementsAre("CUDA_VERSION=12.4.1"));
  EXPECT_EQ(image->labels.at("a"), "b");
  ASSERT_EQ(image->libraries.size(), 1U);
  EXPECT_EQ(image->libraries[0].version, "12.4");
  EXPECT_TRUE(image->is_looked_into);
  EXPECT_THAT(image->notes, IsEmpty());
}

TEST_F(ArchiveTest, OfSeveralImagesOneMustBeNamed) {
  dir_.WriteFile("a.tar", DockerArchive(R"([{"Config":"c.json","RepoTags":["r.io/x:1"],"Layers":[]},
                                            {"Config":"c.json","RepoTags":["r.io/y:2"],"Layers":[]}])"));
  EXPECT_THAT(Read("a.tar").status(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--name"), HasSubstr("r.io/x:1, r.io/y:2"))));
  const auto image = Read("a.tar", {.name = "y:2"});
  ASSERT_OK(image);
  EXPECT_EQ(image->name, "r.io/y:2");
  EXPECT_THAT(Read("a.tar", {.name = "z"}).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("z")));
}

TEST_F(ArchiveTest, ALayerThatCannotBeReadIsANote) {
  dir_.WriteFile("a.tar",
                 DockerArchive(R"([{"Config":"c.json","Layers":["gone.tar","l/layer.tar"]}])"));
  const auto image = Read("a.tar");
  ASSERT_OK(image);
  EXPECT_THAT(image->notes, ElementsAre(HasSubstr("gone.tar")));
  EXPECT_EQ(image->libraries.size(), 1U);
  EXPECT_FALSE(image->is_looked_into);
}

TEST_F(ArchiveTest, ManyLayersThatCannotBeReadAreFewNotes) {
  dir_.WriteFile("a.tar",
                 DockerArchive(R"([{"Config":"c.json","Layers":["1","2","3","4","5","6"]}])"));
  const auto image = Read("a.tar");
  ASSERT_OK(image);
  EXPECT_EQ(image->notes.size(), 4U);
  EXPECT_THAT(image->notes.back(), HasSubstr("3 more layers"));
}

TEST_F(ArchiveTest, ALayerThatIsNamedOftenIsReadOnce) {
  std::string layers;
  for (int i = 0; i < 2000; ++i) {
    layers += fmt::format("{}\"l/layer.tar\"", i == 0 ? "" : ",");
  }
  dir_.WriteFile("a.tar",
                 DockerArchive(fmt::format(R"([{{"Config":"c.json","Layers":[{}]}}])", layers)));
  const auto image = Read("a.tar");
  ASSERT_OK(image);
  EXPECT_EQ(image->libraries.size(), 1U);
  EXPECT_TRUE(image->is_looked_into);
}

TEST_F(ArchiveTest, MoreLayersThanAnImageHasAreNotRead) {
  std::string layers;
  for (int i = 0; i < 501; ++i) {
    layers += fmt::format("{}\"{}\"", i == 0 ? "" : ",", i);
  }
  dir_.WriteFile("a.tar",
                 DockerArchive(fmt::format(R"([{{"Config":"c.json","Layers":[{}]}}])", layers)));
  const auto image = Read("a.tar");
  ASSERT_OK(image);
  EXPECT_FALSE(image->is_looked_into);
  EXPECT_THAT(image->notes.back(), HasSubstr("498 more layers"));
}

TEST_F(ArchiveTest, AnImageForAnotherSystemIsNotPicked) {
  const std::string windows = Manifest(R"({"architecture":"amd64"})");
  const std::string linux_image = Manifest(kConfig);
  dir_.WriteFile(
      "layout/index.json",
      fmt::format(
          R"({{"manifests":[{{"digest":"{}","platform":{{"architecture":"amd64","os":"windows"}}}},)"
          R"({{"digest":"{}","platform":{{"architecture":"amd64","os":"linux"}}}}]}})",
          windows, linux_image));
  const auto image = Read("layout");
  ASSERT_OK(image);
  EXPECT_THAT(image->env, ElementsAre("CUDA_VERSION=12.4.1"));
}

TEST_F(ArchiveTest, NothingOutsideAFolderIsReadForIt) {
  dir_.WriteFile("c.json", kConfig);
  dir_.WriteFile("saved/manifest.json", R"([{"Config":"../c.json","Layers":["../l.tar"]}])");
  dir_.WriteFile("linked/manifest.json", R"([{"Config":"link","Layers":[]}])");
  dir_.Symlink("../c.json", "linked/link");
  EXPECT_THAT(Read("saved").status(), StatusIs(StatusCode::kNotFound, HasSubstr("c.json")));
  EXPECT_THAT(Read("linked").status(), StatusIs(StatusCode::kNotFound, HasSubstr("link")));
}

TEST_F(ArchiveTest, OnlyPlainFilesAreOpened) {
  dir_.WriteFile("saved/manifest.json", R"([{"Config":"pipe","Layers":[]}])");
  ASSERT_EQ(mkfifo(dir_.At("saved/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Read("saved").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be a file")));
}

TEST_F(ArchiveTest, AFolderWithSomeConfigIsNoBundle) {
  dir_.WriteFile("project/config.json", R"({"name":"app"})");
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  EXPECT_FALSE(IsArchive(*root, "project"));
}

TEST_F(ArchiveTest, ALayoutsManifestIsPickedByPlatform) {
  const std::string arm = Manifest(R"({"architecture":"arm64"})");
  const std::string amd = Manifest(kConfig);
  const std::string index =
      Blob(fmt::format(R"({{"manifests":[{{"digest":"{}","platform":{{"architecture":"arm64"}}}},)"
                       R"({{"digest":"{}","platform":{{"architecture":"amd64"}}}}]}})",
                       arm, amd));
  dir_.WriteFile("layout/index.json",
                 fmt::format(R"({{"manifests":[{{"digest":"{}","annotations":)"
                             R"({{"org.opencontainers.image.ref.name":"x:1"}}}}]}})",
                             index));
  const auto image = Read("layout");
  ASSERT_OK(image);
  EXPECT_EQ(image->architecture, "amd64");
  EXPECT_EQ(image->name, "x:1");
  EXPECT_EQ(image->libraries.size(), 1U);
  const auto other = Read("layout", {.architecture = "arm64"});
  ASSERT_OK(other);
  EXPECT_EQ(other->architecture, "arm64");
}

TEST_F(ArchiveTest, ADigestDoesNotLeadOutOfTheLayout) {
  dir_.WriteFile("layout/index.json", R"({"manifests":[{"digest":"sha256:../../../etc/passwd"}]})");
  EXPECT_THAT(Read("layout").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not a digest")));
}

TEST_F(ArchiveTest, AnIndexThatLeadsToItselfEnds) {
  const std::string self = fmt::format("sha256:{:064x}", 1);
  (void)Blob(fmt::format(R"({{"manifests":[{{"digest":"{}"}}]}})", self));
  dir_.WriteFile("layout/index.json", fmt::format(R"({{"manifests":[{{"digest":"{}"}}]}})", self));
  EXPECT_THAT(Read("layout").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not lead to")));
}

TEST_F(ArchiveTest, ABundlesRootFileSystemIsLookedInto) {
  dir_.WriteFile("b/config.json",
                 R"({"ociVersion":"1.0.2","process":{"env":["CUDA_VERSION=11.8.0"]},
                     "root":{"path":"rootfs"}})");
  dir_.WriteFile("b/rootfs/usr/local/cuda-11.8/compat/libcuda.so.520.61.05", "");
  const auto image = Read("b");
  ASSERT_OK(image);
  EXPECT_THAT(image->env, ElementsAre("CUDA_VERSION=11.8.0"));
  ASSERT_EQ(image->libraries.size(), 1U);
  EXPECT_EQ(image->libraries[0].kind, LibraryKind::kCompat);
}

TEST_F(ArchiveTest, WithoutLayersOnlyTheConfigurationIsRead) {
  dir_.WriteFile("a.tar", DockerArchive(R"([{"Config":"c.json","Layers":["l/layer.tar"]}])"));
  const auto image = Read("a.tar", {.reads_layers = false});
  ASSERT_OK(image);
  EXPECT_FALSE(image->is_looked_into);
  EXPECT_THAT(image->libraries, IsEmpty());
}

TEST_F(ArchiveTest, FilesThatAreNoImagesAreRefusedWithTheFix) {
  dir_.WriteFile("text", "hello");
  dir_.WriteFile("empty.tar", TarEnd());
  dir_.WriteFile("packed.tar.gz", compress::Gzip(DockerArchive("[]")));
  EXPECT_THAT(Read("text").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not an image")));
  EXPECT_THAT(Read("empty.tar").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("docker save")));
  EXPECT_THAT(Read("packed.tar.gz").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gunzip <")));
  EXPECT_THAT(Read("gone").status(), StatusIs(StatusCode::kNotFound, HasSubstr("gone")));
}

}  // namespace
}  // namespace kgpu::image
