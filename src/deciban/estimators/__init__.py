"""The scikit-learn estimators: familiar names and arguments over one shared base.

Import them from `deciban`, which loads only the one that is used.
"""
