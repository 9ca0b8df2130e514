// Every input below testdata/edits is edited, and the outcome held against what lies in its folder
// "after". The same walk shows for each that a second edit finds nothing to do, that taking it back
// restores every byte, and that nothing but the keys asked for has another value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/test_edit_cases.h"
#include "src/platform/doc/doc.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;
using ::testing::IsEmpty;

std::string Describe(const KeyChange& change) {
  constexpr std::string_view kWords[] = {"set", "add to", "make", "comment"};
  std::string line = fmt::format("  {} {}", kWords[static_cast<size_t>(change.kind)],
                                 change.key.empty() ? "the file" : edit::Dotted(change.key));
  if (change.kind == edit::ChangeKind::kValue || change.kind == edit::ChangeKind::kItem) {
    line += fmt::format(": {}", change.after);
  }
  if (change.before.has_value()) {
    line += fmt::format(" (was {})", *change.before);
  }
  return line + "\n";
}

// What people read about an edit.
std::string Describe(const EditCase& c, const StatusOr<std::vector<FileEdit>>& edits) {
  if (!edits.ok()) {
    return fmt::format("refused: {}\n", Message(edits.status()));
  }
  std::string text;
  for (const FileEdit& file : *edits) {
    text += Relative(c, file.path) + (file.edit.changes.empty() ? ": no change\n" : "\n");
    for (const KeyChange& change : file.edit.changes) {
      text += Describe(change);
    }
    for (const std::string& note : file.edit.notes) {
      text += fmt::format("note: {}\n", note);
    }
  }
  return text;
}

json::value TreeOf(std::string_view text, TextKind kind) {
  const auto document = edit::Document::Open(text, "tree", kind);
  EXPECT_THAT(document, IsOk());
  return document.ok() ? document->tree() : json::value();
}

// The keys of all values that are in one tree and not, or otherwise, in the other.
void Compare(const json::value* a, const json::value* b, const edit::Key& key,
             std::vector<std::string>& differences) {
  const json::object* left = a == nullptr ? nullptr : a->if_object();
  const json::object* right = b == nullptr ? nullptr : b->if_object();
  if ((left == nullptr && a != nullptr) || (right == nullptr && b != nullptr)) {
    if (a == nullptr || b == nullptr || *a != *b) {
      differences.push_back(edit::Dotted(key));
    }
    return;
  }
  const auto at = [](const json::object* object, std::string_view name) {
    return object == nullptr ? nullptr : object->if_contains({name.data(), name.size()});
  };
  for (const json::object* object : {left, right}) {
    for (const auto& field : object == nullptr ? json::object() : *object) {
      const std::string name(field.key());
      if (object == left || at(left, name) == nullptr) {
        edit::Key below = key;
        below.push_back(name);
        Compare(at(left, name), at(right, name), below, differences);
      }
    }
  }
}

// Keys that an edit may touch, whatever the engine: nothing of it is of others.
bool IsOurs(const std::string& key) {
  constexpr std::string_view kExact[] = {"default-runtime",
                                         "features.cdi",
                                         "insecure-registries",
                                         "registry-mirrors",
                                         "version",
                                         "imports",
                                         "crio.runtime.default_runtime",
                                         "crio.runtime.cdi_spec_dirs",
                                         "engine.runtime"};
  constexpr std::string_view kEndings[] = {".containerd.runtimes.runc.runtime_type",
                                           ".containerd.default_runtime_name", ".enable_cdi",
                                           ".cdi_spec_dirs"};
  return std::ranges::find(kExact, key) != std::end(kExact) ||
         std::ranges::any_of(kEndings, [&](auto ending) { return key.ends_with(ending); }) ||
         fmt::format(".{}.", key).find("runtimes.nvidia.") != std::string::npos;
}

class EditsGoldenTest : public ::testing::TestWithParam<EditCase> {};

TEST_P(EditsGoldenTest, EditsToTheLetter) {
  const EditCase& c = GetParam();
  const Texts before = ReadInputs(c);
  const auto edits = Edit(c, before);
  const std::string folder = fmt::format("{}/{}/after/", kEditsFolder, c.name);
  ExpectGolden(folder + "says.txt", Describe(c, edits));
  if (!edits.ok()) {
    return;
  }
  Texts after = before;
  for (const FileEdit& file : *edits) {
    if (file.edit.changes.empty()) {
      EXPECT_EQ(file.edit.text, TextAt(before, Relative(c, file.path)));
      continue;
    }
    ExpectGolden(folder + Relative(c, file.path), file.edit.text);
    after[Relative(c, file.path)] = file.edit.text;
  }

  const auto again = Edit(c, after);
  ASSERT_THAT(again, IsOk());
  for (const FileEdit& file : *again) {
    EXPECT_THAT(file.edit.changes, IsEmpty()) << "not idempotent: " << file.edit.text;
  }
}

TEST_P(EditsGoldenTest, ChangesNothingElseAndIsTakenBack) {
  const EditCase& c = GetParam();
  const Texts before = ReadInputs(c);
  const auto edits = Edit(c, before);
  if (!edits.ok()) {
    return;
  }
  for (const FileEdit& file : *edits) {
    const std::string old = TextAt(before, Relative(c, file.path));
    const json::value left = TreeOf(old, file.kind);
    const json::value right = TreeOf(file.edit.text, file.kind);
    std::vector<std::string> differences;
    Compare(&left, &right, {}, differences);
    EXPECT_EQ(differences.empty(), file.edit.changes.empty());
    for (const std::string& key : differences) {
      EXPECT_TRUE(IsOurs(key)) << key;
    }
    const auto reverted =
        Revert(file.kind, {.path = file.path, .text = file.edit.text}, file.edit.changes);
    ASSERT_THAT(reverted, IsOk());
    EXPECT_EQ(reverted->text, old);
    EXPECT_THAT(reverted->notes, IsEmpty());
  }
}

// The text with other bytes between its keys, so that no splice stands as it was written.
std::string Reprinted(const std::string& text, TextKind kind) {
  if (kind == TextKind::kJson) {
    return doc::PrintLine(TreeOf(text, kind)) + "\n";
  }
  std::string loose;
  for (const char c : text) {
    loose += c == '\n' ? "\n\n" : std::string(1, c);
  }
  return loose;
}

TEST_P(EditsGoldenTest, IsTakenBackOfAReprintedText) {
  const EditCase& c = GetParam();
  const Texts before = ReadInputs(c);
  const auto edits = Edit(c, before);
  if (!edits.ok()) {
    return;
  }
  for (const FileEdit& file : *edits) {
    const std::string old = TextAt(before, Relative(c, file.path));
    const std::string text = Reprinted(file.edit.text, file.kind);
    const auto reverted = Revert(file.kind, {.path = file.path, .text = text}, file.edit.changes);
    ASSERT_THAT(reverted, IsOk());
    EXPECT_EQ(TreeOf(reverted->text, file.kind), TreeOf(Reprinted(old, file.kind), file.kind))
        << reverted->text;
    EXPECT_THAT(reverted->notes, IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, EditsGoldenTest, ::testing::ValuesIn(EditCases()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST(EditsFoldersTest, EveryFolderIsWalked) {
  const std::vector<EditCase> cases = EditCases();
  const auto top = std::filesystem::path(KGPU_SOURCE_DIR) / kEditsFolder;
  for (const auto& entry : std::filesystem::directory_iterator(top)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(std::ranges::find(cases, name, &EditCase::name) != cases.end()) << name;
  }
}

}  // namespace
}  // namespace kgpu::engine
