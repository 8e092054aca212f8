import { useContext, useRef } from 'preact/hooks'
import { useWords } from '../hooks/settings.js'
import { Field, type FieldProps } from './field.js'
import { FormContext } from './form.js'

type Props = Pick<FieldProps, 'label' | 'hint' | 'inputMode' | 'maxLength' | 'focused' | 'onInput'> & {
  from: keyof typeof patterns
}

/** A letter or digit of a code, with the spaces and dashes before it. */
const character = '(?:[^0-9A-Za-z]*[0-9A-Za-z])'

/** An incomplete code is not sent, because every wrong code uses up a try. A recovery code works instead of a code of the app. */
const patterns = { mail: `${character}{8}[^0-9A-Za-z]*`, app: `${character}{6,}[^0-9A-Za-z]*` }

/** For a code that was mailed or that an app shows: browsers and phones offer to fill it in. */
export const CodeField = ({ from, ...props }: Props) => (
  <Field
    {...props}
    name="code"
    autoComplete="one-time-code"
    pattern={patterns[from]}
    fault={useWords('common').wholeCode}
    code
  />
)

/** Sends the form as soon as the field has six digits, typed or filled in. The same digits are not sent twice. */
export const SendingCodeField = ({
  sendsByItself = true,
  ...props
}: Omit<Props, 'inputMode' | 'onInput' | 'from'> & { sendsByItself?: boolean }) => {
  const { send } = useContext(FormContext)
  const sentDigits = useRef('')
  const sendIfComplete = (value: string) => {
    const digits = value.replaceAll(/\s/g, '')
    if (!sendsByItself || !/^\d{6}$/.test(digits) || digits === sentDigits.current) return
    sentDigits.current = digits
    send()
  }
  return <CodeField {...props} from="app" inputMode="numeric" onInput={sendIfComplete} />
}
