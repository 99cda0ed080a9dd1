// A page that is opened from a disk may start no Worker, and the search lives in one: there it runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = (data) =>
        setTimeout(() => {
          const message = new MessageEvent("message", { data: structuredClone(data) })
          this.dispatchEvent(message)
          if (this.onmessage) this.onmessage(message)
        })
      const script = inside.document.createElement("script")
      script.src = url
      this.ready = new Promise((done) => (script.onload = done))
      inside.document.documentElement.append(script)
      this.inside = inside
    }
    postMessage(data) {
      this.ready.then(() => setTimeout(() => this.inside.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }))))
    }
    terminate() {}
  }
}
