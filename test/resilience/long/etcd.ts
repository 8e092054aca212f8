import { join } from 'node:path'
import { testProgram } from '../../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../../support/servers/server.js'

/** One etcd server: what Patroni keeps its leader in. */
export const startEtcd = async () => {
  const folder = await ownFolder('etcd')
  const [clients, peers] = [await freePort(), await freePort()]
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${clients}`, `http://127.0.0.1:${peers}`]
  const settings = {
    name: 'etcd',
    'data-dir': join(folder, 'data'),
    'listen-client-urls': clientUrl,
    'advertise-client-urls': clientUrl,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'enable-v2': 'true',
    'initial-cluster': `etcd=${peerUrl}`,
  }
  const isReady = () =>
    fetch(`${clientUrl}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  const server = await startServer({
    command: testProgram('etcd'),
    args: Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    folder,
    // etcd 3.4 refuses to start on ARM unless it is told that this is wanted.
    env: process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {},
    ready: isReady,
  })
  return { ...server, address: `127.0.0.1:${clients}` }
}
