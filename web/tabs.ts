type News = 'signed-in' | 'signed-out'

const channelName = 'latchkey'

/** Tells our other tabs, so that none goes on waiting for a sign-in that has happened, or shows what is over. */
export const announce = (news: News) => {
  if (!('BroadcastChannel' in globalThis)) return
  const channel = new BroadcastChannel(channelName)
  channel.postMessage(news)
  channel.close()
}

export const onNews = (wanted: News, act: () => void) => {
  if (!('BroadcastChannel' in globalThis)) return () => undefined
  const channel = new BroadcastChannel(channelName)
  channel.onmessage = ({ data }) => {
    if (data === wanted) act()
  }
  return () => channel.close()
}
