# make demo   traffic through the SD-WAN edge, in network namespaces    (root, Debian 12); STAY=1: until Ctrl-C
# make test   every check and test                                      (root, Debian 12)
# make nightly  thousands of generated pipelines, interpreter against kernel; hundreds of kills, thousands of damaged objects, journals, power cuts
# make seeded   faults put into the compiler: each must be found
# make matrix   every kernel, clang and pipeline: docs/kernels.md
# make package  a wheel and a Debian package in dist/: docs/install.md
# make image  a container image in dist/, by the Debian package and packages of the configured mirror
# Both install what is missing by themselves and can be repeated.

BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH):/usr/sbin:/sbin

# Hundreds of commands start: without bytecode each compiles helioc anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test setup bench nightly matrix seeded package image fmt clean

demo:
	@tests/setup.sh run
	@$(BIN)/python examples/linx/demo.py $(if $(STAY),--stay)

# The virtual machines' kernels are fetched and built beside the tests: who needs one that is not there
# yet waits, and says why it cannot be had. mypy has what the tests leave of two processors: it is one process.
test:
	@tests/setup.sh test
	@for each in 6.12 5.10 '-M 6.12' '-M 6.1'; do tests/vm/kernel.sh have $$each; done >/dev/null 2>&1 & \
	failed=0; \
	$(BIN)/ruff check || failed=1; \
	types=$$(mktemp); nice $(BIN)/mypy >"$$types" 2>&1 & checked=$$!; \
	$(BIN)/python -m pytest -n 2 --dist worksteal --timeout 900 || failed=1; \
	wait $$checked || failed=1; cat "$$types"; rm -f "$$types"; \
	exit $$failed

setup:
	@tests/setup.sh test

bench:
	@tests/setup.sh test
	@$(BIN)/python bench/run.py

nightly:
	@tests/setup.sh test
	@HELIO_PIPELINES=$${HELIO_PIPELINES:-3000} $(BIN)/python -m pytest -n 2 tests/generated
	@HELIO_MUTATIONS=$${HELIO_MUTATIONS:-40} $(BIN)/python -m pytest -n 2 tests/lang/syntax/test_fuzz.py tests/compiler/check/test_fuzz.py
	@HELIO_DRAWN=$${HELIO_DRAWN:-8} $(BIN)/python -m pytest -n 2 tests/compiler/fuzzing/test_fuzz.py tests/property/test_pipelines_agree.py
	@HELIO_OBJECTS=$${HELIO_OBJECTS:-3000} $(BIN)/python -m pytest tests/runtime/kernel/test_isolated_loader.py tests/runtime/agent/test_agent_objects.py
	@HELIO_AGENT_KILLS=$${HELIO_AGENT_KILLS:-500} $(BIN)/python -m pytest -s tests/e2e/test_kills_live.py
	@HELIO_UPGRADES=$${HELIO_UPGRADES:-200} HELIO_KILLS=$${HELIO_KILLS:-100} $(BIN)/python -m pytest -s tests/e2e/test_upgrade_live.py
	@HELIO_BYTES=all HELIO_CUTS=$${HELIO_CUTS:-20000} HELIO_DEVICE_CUTS=$${HELIO_DEVICE_CUTS:-1000} $(BIN)/python -m pytest tests/runtime/journal
	@HELIO_OLD_RELEASE=$${HELIO_OLD_RELEASE:-0924e90} $(BIN)/python -m pytest tests/runtime/agent/test_old_release.py
	@HELIO_EVERY_PIN=1 $(BIN)/python -m pytest tests/runtime/agent/test_repair.py
	@HELIO_FAULTS=$${HELIO_FAULTS:-2000} $(BIN)/python -m pytest -s tests/runtime/agent/test_agent_damage.py
	@HELIO_ABUSE=$${HELIO_ABUSE:-5} $(BIN)/python -m pytest -s tests/runtime/front/test_abuse.py
	@HELIO_GRPC_MUTATIONS=$${HELIO_GRPC_MUTATIONS:-100000} $(BIN)/python -m pytest -s --timeout 3600 tests/runtime/rpc/test_mutations.py
	@$(MAKE) --no-print-directory image && \
	HELIO_IMAGE=$$(ls dist/helio_*.oci.tar) $(BIN)/python -m pytest tests/package/test_image.py
	@HELIO_PROBES=all $(BIN)/python -m pytest tests/vm/test_offload.py

matrix:
	@tests/setup.sh matrix
	@PYTHONPATH=tests/support $(BIN)/python tests/vm/matrix.py --write

seeded:
	@tests/setup.sh test
	@PYTHONPATH=tests/seeded $(BIN)/python tests/seeded/seeding.py

package:
	@tests/setup.sh test
	@$(BIN)/python package/build.py dist

image: package
	@rm -f dist/helio_*.oci.tar
	@$(BIN)/python package/image.py dist

fmt:
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
