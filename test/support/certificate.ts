import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testProgram } from './servers/programs.js'

/** The files of a certificate for localhost that only those trust who are given it. */
export const makeCertificate = async (folder: string, name: string) => {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const files = ['-keyout', key, '-out', cert]
  await promisify(execFile)(testProgram('openssl'), ['req', '-x509', ...kind, ...subject, ...files])
  return { key, cert }
}
