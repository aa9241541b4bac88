"""Services of Kubernetes on a node, as rules of `pipelines/nodeport.hp`."""
