# Checks form and drawings of the documentation, and builds its site. Only the site may need a package index, on the
# first run.
wattle_lint(lint_docs "${WATTLE_PYTHON}" tests/lint/docs_test.py)
wattle_lint(lint_docs_self_test "${WATTLE_PYTHON}" tests/lint/docs_test.py --self-test)
wattle_lint(docs_drawings "${WATTLE_PYTHON}" scripts/docs-drawings --check)
wattle_lint(docs_site "${WATTLE_PYTHON}" tests/lint/site_test.py "${CMAKE_BINARY_DIR}/site")
set_tests_properties(docs_site PROPERTIES LABELS "pure;lint;source;docs" TIMEOUT 600 SKIP_RETURN_CODE 77)
