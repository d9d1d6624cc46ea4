export function View({ name }: { name: string }): JSX.Element {
  return (
    <p className="a">
      Don't {name} <b>x</b> {[1].map((x) => <i key={x}>{x}</i>)}
    </p>
  );
}

export const Other = <T,>(props: {
  a: T;
}) => {
  return <View name={`}`} />;
};

interface Props {
  a: string;
}
