#include "src/host/packages/test_fake_debian.h"

#include <algorithm>

#include <fmt/format.h>

namespace kgpu::packages {
namespace {

sys::RunResult Ended(int code, std::string out, std::string err = "") {
  sys::RunResult result;
  result.exit.code = code;
  result.out = std::move(out);
  result.err = std::move(err);
  return result;
}

// The words behind `verb` that are no options.
std::vector<std::string> NamesAfter(const std::vector<std::string>& argv, std::string_view verb) {
  std::vector<std::string> names;
  auto at = std::ranges::find(argv, verb);
  for (; at != argv.end(); ++at) {
    if (*at != verb && !at->starts_with('-')) {
      names.push_back(*at);
    }
  }
  return names;
}

bool Has(const std::vector<std::string>& argv, std::string_view word) {
  return std::ranges::find(argv, word) != argv.end();
}

}  // namespace

StatusOr<sys::RunResult> FakeDebian::Run(const sys::RunRequest& request) {
  argvs.push_back(request.argv);
  requests.push_back(request);
  if (request.argv[0] == "/usr/bin/dpkg-query") {
    std::string text;
    for (const auto& [name, entry] : installed) {
      text += fmt::format("i{} \t{}\tamd64\t{}\n", entry.state, name, entry.version);
    }
    return Ended(0, text);
  }
  return request.argv[0] == "/usr/bin/dpkg" ? Dpkg(request.argv) : AptGet(request.argv);
}

std::vector<std::vector<std::string>> FakeDebian::Changes() const {
  std::vector<std::vector<std::string>> changes;
  std::ranges::copy_if(argvs, std::back_inserter(changes), [](const auto& argv) {
    return !argv[0].starts_with("/usr/bin/dpkg-") && !Has(argv, "--simulate") &&
           !Has(argv, "--no-act");
  });
  return changes;
}

StatusOr<sys::RunResult> FakeDebian::AptGet(const std::vector<std::string>& argv) {
  const bool is_simulated = Has(argv, "--simulate");
  if (is_simulated && Has(argv, "install")) {
    return SimulateInstall(NamesAfter(argv, "install"));
  }
  if (is_locked) {
    installed["of-another"] = {'i', "1"};  // who holds the lock
    return Ended(100, "", "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by 7\n");
  }
  if (Has(argv, "install")) {
    installed.insert(meanwhile.begin(), meanwhile.end());
    return Install(NamesAfter(argv, "install"));
  }
  const bool is_purge = Has(argv, "purge");
  return Remove(NamesAfter(argv, is_purge ? "purge" : "remove"), is_purge, is_simulated);
}

sys::RunResult FakeDebian::SimulateInstall(const std::vector<std::string>& names) {
  const auto before = installed;
  std::string text = "NOTE: This is only a simulation!\n";
  std::string error;
  for (const std::string& name : names) {
    if (!Unpack(name)) {
      error = fmt::format("E: Unable to locate package {}\n", name);
    }
  }
  for (const auto& [name, entry] : installed) {
    if (!before.contains(name) || before.at(name) != entry) {
      text += fmt::format("Inst {} ({} Debian:12 [amd64])\n", name, entry.version);
    }
  }
  installed = before;
  return Ended(error.empty() ? 0 : 100, text, error);
}

bool FakeDebian::Unpack(const std::string& name) {
  const auto offer = archive.find(name.substr(0, name.find('=')));
  if (offer == archive.end() || (name.find('=') != std::string::npos &&
                                 name.substr(name.find('=') + 1) != offer->second.version)) {
    return false;
  }
  if (!installed.contains(offer->first) || installed[offer->first].state == 'c') {
    installed[offer->first] = {'U', offer->second.version};
  }
  return std::ranges::all_of(offer->second.depends,
                             [this](const std::string& other) { return Unpack(other); });
}

StatusOr<sys::RunResult> FakeDebian::Install(const std::vector<std::string>& names) {
  const auto before = installed;
  for (const std::string& name : names) {
    if (!Unpack(name)) {
      installed = before;
      return Ended(100, "Reading package lists...\n",
                   fmt::format("E: Unable to locate package {}\n", name));
    }
  }
  if (is_killed) {
    is_killed = false;
    return DeadlineExceeded("/usr/bin/apt-get: did not finish within 2400 s");
  }
  return Configure();
}

sys::RunResult FakeDebian::Configure() {
  for (auto& [name, entry] : installed) {
    if (entry.state != 'U' && entry.state != 'F') {
      continue;
    }
    entry.state = broken_scripts.contains(name) ? 'F' : 'i';
  }
  const auto failed =
      std::ranges::find_if(installed, [](const auto& one) { return one.second.state == 'F'; });
  if (failed == installed.end()) {
    return Ended(0, "Setting up\n");
  }
  return Ended(100,
               fmt::format("Consult /var/lib/dkms/{}/1/build/make.log for more information.\n",
                           failed->first),
               fmt::format("dpkg: error processing package {} (--configure):\n"
                           "E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
                           failed->first));
}

void FakeDebian::TakeOff(const std::string& name, bool is_purge) {
  const auto found = installed.find(name);
  if (found != installed.end() && !is_purge) {
    found->second.state = 'c';
  } else if (found != installed.end()) {
    installed.erase(found);
  }
}

sys::RunResult FakeDebian::Remove(const std::vector<std::string>& names, bool is_purge,
                                  bool is_simulated) {
  std::set<std::string> doomed(names.begin(), names.end());
  for (const auto& [name, entry] : installed) {
    const auto offer = archive.find(name);
    if (offer != archive.end() && entry.state != 'c' &&
        std::ranges::any_of(offer->second.depends,
                            [&doomed](const auto& other) { return doomed.contains(other); })) {
      doomed.insert(name);
    }
  }
  std::string text = "Reading package lists...\n";
  for (const std::string& name : doomed) {
    if (stubborn.contains(name)) {
      return Ended(100, text, fmt::format("E: The package {} needs to be reinstalled\n", name));
    }
    text += fmt::format("Purg {} [1]\n", name);
  }
  for (const std::string& name : doomed) {
    if (!is_simulated) {
      TakeOff(name, is_purge);
    }
  }
  return Ended(0, text);
}

sys::RunResult FakeDebian::Dpkg(const std::vector<std::string>& argv) {
  if (Has(argv, "--configure")) {
    return Configure();
  }
  const bool is_purge = Has(argv, "--purge");
  const std::vector<std::string> doomed = NamesAfter(argv, is_purge ? "--purge" : "--remove");
  for (const auto& [name, entry] : installed) {
    const bool stays = !Has(doomed, name) && archive.contains(name);
    if (stays && std::ranges::any_of(archive[name].depends, [&doomed](const std::string& other) {
          return Has(doomed, other);
        })) {
      return Ended(1, "", fmt::format("dpkg: dependency problems: {} depends on it\n", name));
    }
  }
  for (const std::string& name : doomed) {
    if (!Has(argv, "--no-act")) {
      TakeOff(name, is_purge);
    }
  }
  return Ended(0, "");
}

}  // namespace kgpu::packages
