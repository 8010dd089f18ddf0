from . import description, explanations, export, page, plot, report, saving

class Facade:
    to_text = export.to_text
    to_rules = export.to_rules
    to_query = export.to_query
    to_dot = export.to_dot
    to_sql = export.to_sql
    to_onnx = export.to_onnx
    to_dataframe = export.to_dataframe
    to_html = page.to_html  # type: ignore[has-type]
    plot = plot.plot_tree  # type: ignore[has-type]
    explain = explanations.explain
    describe = description.describe  # type: ignore[has-type]
    nearest_change = explanations.nearest_change
    save = saving.save
    def _frame(self): ...

METHODS: list[str]
FORMATS: list[str]

class EstimatorFacade(Facade):
    name_clusters = report.name_clusters
