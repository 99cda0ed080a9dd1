"""Published claims about zero_grad, settled by experiment; and the demo. A claim is one file in claims/."""
