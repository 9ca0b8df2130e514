def Handler(req):
    """Called once for each call of the function; req.input has the caller's bytes.

    Returns str or bytes. The process lives on between calls: what is expensive to make, a model on
    the GPU say, can stay in a variable of this module.
    """
    return req.input
