import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { exampleListener, proxyLines } from '../../../src/applications/proxy-lines.js'
import { testProgram } from '../../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../../support/servers/server.js'
import { listens, replaced } from '../../support/site/nginx.js'

const run = promisify(execFile)
const shipped = fileURLToPath(new URL('../../../deploy/forward-auth/', import.meta.url))
const readShipped = (name: string) => readFile(join(shipped, name), 'utf8')

/** The hosts, all on one port, and where Latchkey and the application listen. `certificate` is a folder with its two files. */
export type Place = {
  port: number
  hosts: readonly string[]
  latchkey: number
  application: number
  certificate?: string
}

/** A proxy in front of an application on several hosts, as the shipped files and the printed lines make it. */
export type RunningProxy = { stop(): Promise<void> }

const latchkeyAddress = '127.0.0.1:3000'
const addressOf = (port: number) => `127.0.0.1:${port}`
const sitesOf = ({ hosts, port, certificate }: Place) =>
  hosts.map((host) => new URL(`http${certificate ? 's' : ''}://${host}:${port}`))
const withApplication = (text: string, { application }: Place) =>
  replaced(text, [[exampleListener, addressOf(application)]])

export const startCaddy = async (place: Place): Promise<RunningProxy> => {
  const folder = await ownFolder('caddy')
  await cp(join(shipped, 'latchkey.caddyfile'), join(folder, 'latchkey.caddyfile'))
  const { once, site } = proxyLines.caddy
  const { certificate } = place
  const tls = certificate ? `\ttls ${certificate}/fullchain.pem ${certificate}/privkey.pem\n` : ''
  const sites = sitesOf(place).map((each) => site(each).replace(' {\n', ` {\n\tbind 127.0.0.1\n${tls}`))
  const other = await freePort()
  const [plain, secure] = certificate ? [other, place.port] : [place.port, other]
  const https = certificate ? 'disable_redirects' : 'off'
  const options = `{\n\tadmin off\n\tauto_https ${https}\n\thttp_port ${plain}\n\thttps_port ${secure}\n}\n`
  await writeFile(join(folder, 'Caddyfile'), withApplication(`${options}${once}\n${sites.join('\n')}\n`, place))
  return startServer({
    command: testProgram('caddy'),
    args: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    folder,
    env: {
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      LATCHKEY: addressOf(place.latchkey),
    },
    ready: () => listens(place.port),
  })
}

export const startNginx = async (place: Place): Promise<RunningProxy> => {
  const folder = await ownFolder('nginx')
  await mkdir(join(folder, 'snippets'))
  for (const name of ['latchkey.nginx.conf', 'latchkey.nginx-headers.conf']) {
    const text = await readShipped(name)
    const changed =
      name === 'latchkey.nginx.conf' ? replaced(text, [[latchkeyAddress, addressOf(place.latchkey)]]) : text
    await writeFile(join(folder, 'snippets', name), changed)
  }
  const { certificate, port } = place
  const files = `ssl_certificate ${certificate}/fullchain.pem;\n    ssl_certificate_key ${certificate}/privkey.pem;`
  const first = replaced(
    proxyLines.nginx.once,
    certificate
      ? [['listen 443 ', `listen 127.0.0.1:${port} `]]
      : [
          ['listen 443 ssl default_server;', `listen 127.0.0.1:${port} default_server;`],
          ['ssl_reject_handshake on;', 'return 444;'],
        ],
  )
  const sites = sitesOf(place).map((each) =>
    replaced(proxyLines.nginx.site(each), [
      ['listen ', 'listen 127.0.0.1:'],
      ...(certificate ? [['    server_name', `    ${files}\n    server_name`] as [string, string]] : []),
    ]),
  )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  const text = `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.error.log warn;
events {}
http {
${temporary}
access_log off;
${first}
${sites.join('\n')}
}
`
  await writeFile(join(folder, 'nginx.conf'), withApplication(text, place))
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'nginx.error.log')]
  const command = testProgram('nginx')
  await run(command, [...args, '-t'])
  return startServer({ command, args, folder, ready: () => listens(place.port) })
}

export const startHaproxy = async (
  place: Place,
  luaChanges: [string | RegExp, string][] = [],
): Promise<RunningProxy> => {
  const folder = await ownFolder('haproxy')
  await writeFile(join(folder, 'latchkey.lua'), replaced(await readShipped('latchkey.lua'), luaChanges))
  const parts = sitesOf(place).map((each) => proxyLines.haproxy.site(each).split('\n\n'))
  const frontend = [
    'frontend web',
    '    mode http',
    '    timeout client 30s',
    `    bind 127.0.0.1:${place.port}${place.certificate ? ` ssl crt ${place.certificate}/both.pem` : ''}`,
    ...parts.map(([line]) => line),
  ].join('\n')
  const file = replaced(await readShipped('latchkey.haproxy.cfg'), [
    ['/etc/haproxy/latchkey.lua', join(folder, 'latchkey.lua')],
    [latchkeyAddress, addressOf(place.latchkey)],
  ])
  const text = `${frontend}\n\n${file}\n${parts.map(([, backend]) => backend).join('\n\n')}\n`
  await writeFile(join(folder, 'haproxy.cfg'), withApplication(text, place))
  const command = testProgram('haproxy')
  const args = ['-db', '-f', join(folder, 'haproxy.cfg')]
  await run(command, ['-c', ...args])
  return startServer({ command, args, folder, ready: () => listens(place.port) })
}
