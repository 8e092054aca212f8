import { useContext, useRef } from 'preact/hooks'
import { Field, type FieldProps } from './field.js'
import { FormContext } from './form.js'

type Props = Pick<FieldProps, 'label' | 'hint' | 'inputMode' | 'maxLength' | 'focused' | 'onInput'>

/** For a code that was mailed or that an app shows: browsers and phones offer to fill it in. */
export const CodeField = (props: Props) => <Field {...props} name="code" autoComplete="one-time-code" code />

/** Six digits are sent by themselves, however they got here; the same ones are not sent again. */
export const SendingCodeField = (props: Omit<Props, 'inputMode' | 'onInput'>) => {
  const { send } = useContext(FormContext)
  const sent = useRef('')
  const sendWhole = (value: string) => {
    const digits = value.replaceAll(/\s/g, '')
    if (!/^\d{6}$/.test(digits) || digits === sent.current) return
    sent.current = digits
    send()
  }
  return <CodeField {...props} inputMode="numeric" onInput={sendWhole} />
}
