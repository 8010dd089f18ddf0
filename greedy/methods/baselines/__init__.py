"""Published trees that papers compare with: KDTree, CUBT, CLTree. CART is an estimator alone."""
