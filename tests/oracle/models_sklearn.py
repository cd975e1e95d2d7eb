"""Estimators of scikit-learn as skl2onnx writes them (ai.onnx.ml and arithmetic)."""

import warnings

import numpy as np


def models():
    """(name, ONNX model) for classifiers, regressors, transformers and text encoders."""
    warnings.filterwarnings("ignore")
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType
    from sklearn import (cluster, decomposition, ensemble, feature_extraction, gaussian_process,
                         linear_model, naive_bayes, neighbors, neural_network, pipeline,
                         preprocessing, svm, tree)
    from sklearn.datasets import load_diabetes, load_iris
    x, label = load_iris(return_X_y=True)
    xr, target = load_diabetes(return_X_y=True)
    x, xr, target = x.astype(np.float32), xr.astype(np.float32), target.astype(np.float32)
    classifiers = {
        "logistic": linear_model.LogisticRegression(max_iter=20),
        "linear_svc": svm.LinearSVC(), "svc": svm.SVC(), "nu_svc": svm.NuSVC(),
        "forest": ensemble.RandomForestClassifier(4), "tree": tree.DecisionTreeClassifier(),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=4),
        "adaboost": ensemble.AdaBoostClassifier(n_estimators=3),
        "neighbors": neighbors.KNeighborsClassifier(), "gaussian_nb": naive_bayes.GaussianNB(),
        "mlp": neural_network.MLPClassifier((16, 8), max_iter=3),
        "pipeline": pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2),
                                           linear_model.LogisticRegression()),
    }
    regressors = {
        "linear": linear_model.LinearRegression(), "svr": svm.SVR(),
        "forest_regressor": ensemble.RandomForestRegressor(4),
        "neighbors_regressor": neighbors.KNeighborsRegressor(), "kmeans": cluster.KMeans(3),
        "gaussian_process": gaussian_process.GaussianProcessRegressor(),
        "one_class_svm": svm.OneClassSVM(),
    }
    transformers = {
        "standard_scaler": preprocessing.StandardScaler(), "normalizer": preprocessing.Normalizer(),
        "binarizer": preprocessing.Binarizer(), "svd": decomposition.TruncatedSVD(2),
        "power": preprocessing.PowerTransformer(),
        "polynomial": preprocessing.PolynomialFeatures(2),
    }
    for name, estimator in classifiers.items():
        yield name, to_onnx(estimator.fit(x, label), x[:1])
    for name, estimator in regressors.items():
        yield name, to_onnx(estimator.fit(xr, target), xr[:1])
    for name, estimator in transformers.items():
        yield name, to_onnx(estimator.fit(x), x[:1])
    text = np.array([["a", "x"], ["b", "a"], ["c", "x"]], dtype=object)
    for name, estimator in {"one_hot": preprocessing.OneHotEncoder(),
                            "ordinal": preprocessing.OrdinalEncoder()}.items():
        yield name, to_onnx(estimator.fit(text),
                            initial_types=[("x", StringTensorType([None, 2]))])
    words = feature_extraction.text.TfidfVectorizer(lowercase=False, token_pattern=r"[a-z]+").fit(["a cat sat", "on the mat"])
    yield "tfidf", to_onnx(words, initial_types=[("x", StringTensorType([None]))])
