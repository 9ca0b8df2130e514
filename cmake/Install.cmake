# What `cmake --install build/release` puts below its prefix: the programs, man pages, completions,
# the agent's unit, and the chart, manifests and alerts that admins apply. scripts/release.sh packs the same.
include(GNUInstallDirs)

install(TARGETS kgpu kgpu-cuda kgpu-fnwatch kgpu-probe kgpu-runtime RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Not a library of the host: the agent mounts it into containers.
install(TARGETS kgpu-share LIBRARY DESTINATION lib/kgpu)

install(DIRECTORY deploy/chart deploy/kustomize deploy/manifests deploy/monitoring
  DESTINATION ${CMAKE_INSTALL_DATADIR}/kgpu
  PATTERN "*_test.yaml" EXCLUDE)
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Texts that the program itself prints, and a unit that names where the program is installed: known
# only when the prefix is.
install(CODE "
  set(kgpu \"$<TARGET_FILE:kgpu>\")
  set(emulator \"${CMAKE_CROSSCOMPILING_EMULATOR}\")
  set(bindir \"${CMAKE_INSTALL_BINDIR}\")
  set(datadir \"${CMAKE_INSTALL_DATADIR}\")
  set(mandir \"${CMAKE_INSTALL_MANDIR}\")
  set(unit \"${PROJECT_SOURCE_DIR}/deploy/systemd/kgpu-agent.service\")
  set(work \"${CMAKE_CURRENT_BINARY_DIR}/install\")
")
install(SCRIPT cmake/install_texts.cmake)
